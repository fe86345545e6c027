//! Data sets that the generated papers use and that the chat service knows by name.

/// A data set: its name as papers write it, and the task it serves.
pub(crate) struct Dataset {
    pub(crate) name: &'static str,
    pub(crate) task: &'static str,
}

const fn dataset(name: &'static str, task: &'static str) -> Dataset {
    Dataset { name, task }
}

/// No name is part of another one, so that a search for names finds each once.
pub(crate) const DATASETS: &[Dataset] = &[
    dataset("ImageNet", "image classification"),
    dataset("CIFAR-10", "image classification"),
    dataset("MNIST", "digit recognition"),
    dataset("MS COCO", "object detection"),
    dataset("Pascal VOC", "object detection"),
    dataset("ADE20K", "semantic segmentation"),
    dataset("Cityscapes", "semantic segmentation"),
    dataset("KITTI", "autonomous driving"),
    dataset("nuScenes", "autonomous driving"),
    dataset("ShapeNet", "3D shape analysis"),
    dataset("ScanNet", "3D scene understanding"),
    dataset("Kinetics-400", "action recognition"),
    dataset("UCF101", "action recognition"),
    dataset("LibriSpeech", "speech recognition"),
    dataset("Common Voice", "speech recognition"),
    dataset("VoxCeleb", "speaker identification"),
    dataset("AudioSet", "audio tagging"),
    dataset("SQuAD", "question answering"),
    dataset("HotpotQA", "question answering"),
    dataset("TriviaQA", "question answering"),
    dataset("GSM8K", "mathematical reasoning"),
    dataset("HumanEval", "program synthesis"),
    dataset("MBPP", "program synthesis"),
    dataset("GLUE", "language understanding"),
    dataset("SNLI", "natural language inference"),
    dataset("WikiText-103", "language modelling"),
    dataset("The Pile", "language modelling"),
    dataset("WMT14", "machine translation"),
    dataset("CNN/Daily Mail", "summarisation"),
    dataset("CoNLL-2003", "named entity recognition"),
    dataset("MovieLens", "recommendation"),
    dataset("Amazon Reviews", "recommendation"),
    dataset("OGBN-Arxiv", "node classification"),
    dataset("QM9", "molecular property prediction"),
    dataset("MIMIC-III", "clinical prediction"),
    dataset("CheXpert", "chest radiograph reading"),
    dataset("D4RL", "offline reinforcement learning"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_part_of_another() {
        for a in DATASETS {
            assert!(!DATASETS.iter().any(|b| b.name != a.name && b.name.contains(a.name)), "{}", a.name);
        }
    }
}
